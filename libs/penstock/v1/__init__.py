"""Generated from proto/ by `make gen`; nothing by hand."""
