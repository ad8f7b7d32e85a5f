"""What this course sets of nbgrader and of the kit."""

from autograder.nbgrader import configure

c = get_config()  # noqa: F821  nbgrader defines it
configure(c)  # what the kit needs: docs/instructors.md says what you may set beside it

c.CourseDirectory.course_id = "attention"

# where you publish release/: with it, each notebook begins with a badge that opens it in Colab
# c.Release.colab = "https://colab.research.google.com/github/OWNER/REPOSITORY/blob/BRANCH/release"

# where students reach the desk: with it, each notebook ends with a cell that hands it in (docs/desk.md)
# c.Desk.address = "https://desk.example"

# points for the checks that pass, even where named mistakes explain all that fail: docs/instructors.md
# c.Exercises.credit = "checks"
