"""Many submissions judged into a gradebook."""
