"""Messages between processes, and how they map to what `core` knows."""
