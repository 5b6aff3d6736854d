"""The audit: count how well the kit judges cases whose right verdict is known, with bounds, on one page."""
