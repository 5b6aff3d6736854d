"""Grade a class: read its submissions, judge them in a batch, store the verdicts in a gradebook and export them."""
