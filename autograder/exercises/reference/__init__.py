"""The reference: the definitions in float64, independent of the notebooks' solutions, slow where that is clearer."""
