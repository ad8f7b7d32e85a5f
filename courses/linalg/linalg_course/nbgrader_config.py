"""What this course sets of nbgrader and of the kit."""

from autograder.nbgrader import configure

c = get_config()  # noqa: F821  nbgrader defines it
configure(c)

c.CourseDirectory.course_id = "linalg"
