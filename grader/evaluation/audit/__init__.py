"""The audit: how well the kit judges cases whose truth is known, counted, with bounds, on one page."""
