"""A course on numerical linear algebra: `source/` has its lesson, `exercises/` their checks, mistakes and answers."""
