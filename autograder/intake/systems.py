"""The systems that hand-ins come from, and the formats in which grades go back: one list of each."""

SYSTEMS = ("moodle", "canvas", "gradescope", "mail")  # whose archives are read
FORMATS = ("moodle", "canvas", "csv", "gradescope", "exercism")  # of exports
WITH_IDS = ("moodle", "canvas")  # whose ids `lms_user_id` holds; others have addresses
