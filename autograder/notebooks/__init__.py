"""Reading, restoring and releasing notebooks, and the parts that plug into nbgrader."""
