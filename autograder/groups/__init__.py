"""Groups of equal wrong answers, and the instructor's names for them."""
