"""The systems that hand-ins come from, and the formats in which grades go back: one list of each."""

SYSTEMS = ("moodle", "canvas", "gradescope", "mail")  # the systems that archives are read from
FORMATS = ("moodle", "canvas", "csv", "gradescope", "exercism")  # of exports
WITH_IDS = ("moodle", "canvas")  # with ids, in `lms_user_id`; the others have addresses
