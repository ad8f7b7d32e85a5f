"""`autograder new`: a course or an exercise to start from, and a course from last year's."""

from .scratch import course as course
from .scratch import exercise as exercise
