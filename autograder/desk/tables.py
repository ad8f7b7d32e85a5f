"""The tables of the record. Changing one here needs a migration in migrations/versions, as a test makes sure.

Times are seconds since 1970 (UTC).
"""

from sqlalchemy import (
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)

PREFIX = "desk_"  # of all names, since the gradebook may be in the same database
METADATA = MetaData()

PERSON = Table(
    f"{PREFIX}person",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("door", String(16), nullable=False),
    Column("subject", String(255), nullable=False),  # the door's own id for the person
    Column("student", String(128), nullable=False, index=True),  # "" for who is none
    Column("name", String(255), nullable=False),
    Column("role", String(16), nullable=False),
    Column("first_seen", Double, nullable=False),
    Column("last_seen", Double, nullable=False),
    UniqueConstraint("door", "subject", name=f"{PREFIX}person_is_one"),
)

CONTENT = Table(
    f"{PREFIX}content",
    METADATA,
    Column("sha256", String(64), primary_key=True),
    Column("size", Integer, nullable=False),  # bytes as handed in
    Column("packed", LargeBinary, nullable=False),  # by zlib
)

ATTEMPT = Table(
    f"{PREFIX}attempt",
    METADATA,
    Column("id", String(32), primary_key=True),  # 128 random bits: nobody guesses another's
    Column("person", Integer, ForeignKey(PERSON.c.id), nullable=False),
    Column("owner", String(255), nullable=False),  # whose attempts these are, whatever the door: `record.owner_of`
    Column("assignment", String(255), nullable=False),
    Column("exercise", String(255)),  # None for a whole hand-in
    Column("number", Integer, nullable=False),  # of the owner's attempts on the assignment, from 1
    Column("arrived", Double, nullable=False),
    Column("sha256", String(64), ForeignKey(CONTENT.c.sha256), nullable=False),
    Column("round", Integer, nullable=False),  # see grading/rounds.py
    Column("seed", String(16), nullable=False),  # 48 bits, as a decimal number
    Column("level", String(16), nullable=False),  # what may be told, one of settings.LEVELS
    Column("withheld", Text, nullable=False),  # JSON: the exercises of which nothing more is told, by their limit
    Column("state", String(16), nullable=False),  # waiting, grading, done
    Column("worker", String(64)),  # which desk grades it, or graded it
    Column("lease", Double),  # until when that desk has it
    Column("tries", Integer, nullable=False),
    Column("ended", Double),
    Column("score", Double),
    Column("max_score", Double),
    Column("verdict", Text),  # JSON, with the points that count
    Column("told", Text),  # JSON: what the person was told of it first
    Column("again", Boolean, nullable=False, server_default=false()),  # it was stopped, and is to be graded once more
    Column("begun", Double),  # when its grader began with it
    Column("spent", Double),  # seconds for which it had a worker, all times together; None for what came before
    UniqueConstraint("owner", "assignment", "number", name=f"{PREFIX}attempt_is_one"),
    Index(f"{PREFIX}attempt_queue", "state", "arrived"),
    Index(f"{PREFIX}attempt_class", "assignment", "arrived"),
    Index(f"{PREFIX}attempt_turns", "owner", "ended"),
    Index(f"{PREFIX}attempt_again", "again", "arrived"),
    Index(f"{PREFIX}attempt_ended", "ended"),
)

BEST = Table(  # the most points that an owner was told of an exercise: pages need not read all attempts
    f"{PREFIX}best",
    METADATA,
    Column("owner", String(255), primary_key=True),
    Column("assignment", String(255), primary_key=True),
    Column("exercise", String(255), primary_key=True),
    Column("score", Double, nullable=False),
)

RESULT = Table(  # what grading made besides the verdict, as grading/store.py keeps it
    f"{PREFIX}result",
    METADATA,
    Column("attempt", String(32), ForeignKey(ATTEMPT.c.id), primary_key=True),
    Column("packed", LargeBinary, nullable=False),  # JSON, by zlib
)

BUCKET = Table(  # how often a person may be answered: settings.py
    f"{PREFIX}bucket",
    METADATA,
    Column("owner", String(255), primary_key=True),
    Column("name", String(255), primary_key=True),
    Column("full", Double, nullable=False),  # when it is full again
)

KEY = Table(  # personal links and keys; of each, only a hash is kept
    f"{PREFIX}key",
    METADATA,
    Column("hash", String(64), primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("person", Integer, ForeignKey(PERSON.c.id), nullable=False, index=True),
    Column("made", Double, nullable=False),
    Column("ends", Double, nullable=False),
    Column("revoked", Boolean, nullable=False),
)

NONCE = Table(  # launches that were used
    f"{PREFIX}nonce",
    METADATA,
    Column("nonce", String(255), primary_key=True),
    Column("ends", Double, nullable=False, index=True),
)

SECRET = Table(  # made once, the same for all desks on this database
    f"{PREFIX}secret",
    METADATA,
    Column("name", String(255), primary_key=True),
    Column("value", LargeBinary, nullable=False),
)

LTI = Table(  # what a learning platform said of its services when a person came from it last: doors/lti_services.py
    f"{PREFIX}lti",
    METADATA,
    Column("person", Integer, ForeignKey(PERSON.c.id), primary_key=True),
    Column("said", Text, nullable=False),  # JSON
)

DELIVERY = Table(  # points to be given back to a learning platform
    f"{PREFIX}delivery",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("person", Integer, ForeignKey(PERSON.c.id), nullable=False, index=True),
    Column("attempt", String(32), ForeignKey(ATTEMPT.c.id), nullable=False),
    Column("assignment", String(255), nullable=False),
    Column("points", Double, nullable=False),
    Column("max_points", Double, nullable=False),
    Column("is_all", Boolean, nullable=False),  # nothing of it waits for a person
    Column("tries", Integer, nullable=False),
    Column("next", Double, nullable=False, index=True),
    Column("done", Double),
    Column("problem", Text),
    Column("withdrawn", Boolean, nullable=False, server_default=false()),  # no points are to stay there
)

COMPLAINT = Table(  # what a student says is wrong with a grade, and the answer: complaints.py
    f"{PREFIX}complaint",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("attempt", String(32), ForeignKey(ATTEMPT.c.id), nullable=False),
    Column("owner", String(255), nullable=False, index=True),
    Column("exercise", String(255), nullable=False),
    Column("made", Double, nullable=False),
    Column("says", Text, nullable=False),
    Column("answered", Double, index=True),
    Column("answer", Text),
    Column("points", Double),  # set with the answer; None if the grade stays
    UniqueConstraint("attempt", "exercise", name=f"{PREFIX}complaint_is_one"),
)
