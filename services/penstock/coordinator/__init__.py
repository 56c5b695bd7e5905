"""The coordinator: owns shards, and turns commands into commits and effects."""
