"""What instructors do: lay out, prove and hand out exercises."""
