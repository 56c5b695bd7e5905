"""The Common Expression Language: one parser of ours, two engines behind it."""
