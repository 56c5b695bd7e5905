"""What runs inside a sandbox process: nothing here imports the rest of Penstock, to stay small and bare."""
