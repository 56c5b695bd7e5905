"""JSONPath queries: RFC 9535, parsed by `python-jsonpath`, bounded and run by us."""
