"""A small language model of the shape of lesson 08, the tales it learns from, and how both get into the notebooks."""
