"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "desk_person",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("door", sa.String(16), nullable=False),
        sa.Column("subject", sa.String(255), nullable=False),
        sa.Column("student", sa.String(128), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("first_seen", sa.Double, nullable=False),
        sa.Column("last_seen", sa.Double, nullable=False),
        sa.UniqueConstraint("door", "subject", name="desk_person_is_one"),
    )
    op.create_index("ix_desk_person_student", "desk_person", ["student"])
    op.create_table(
        "desk_content",
        sa.Column("sha256", sa.String(64), primary_key=True),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("packed", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "desk_attempt",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("person", sa.Integer, sa.ForeignKey("desk_person.id"), nullable=False),
        sa.Column("owner", sa.String(255), nullable=False),
        sa.Column("assignment", sa.String(255), nullable=False),
        sa.Column("exercise", sa.String(255)),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("arrived", sa.Double, nullable=False),
        sa.Column("sha256", sa.String(64), sa.ForeignKey("desk_content.sha256"), nullable=False),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("seed", sa.String(16), nullable=False),
        sa.Column("level", sa.String(16), nullable=False),
        sa.Column("withheld", sa.Text, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("worker", sa.String(64)),
        sa.Column("lease", sa.Double),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("ended", sa.Double),
        sa.Column("score", sa.Double),
        sa.Column("max_score", sa.Double),
        sa.Column("verdict", sa.Text),
        sa.Column("told", sa.Text),
        sa.UniqueConstraint("owner", "assignment", "number", name="desk_attempt_is_one"),
    )
    op.create_index("desk_attempt_queue", "desk_attempt", ["state", "arrived"])
    op.create_index("desk_attempt_class", "desk_attempt", ["assignment", "arrived"])
    op.create_index("desk_attempt_turns", "desk_attempt", ["owner", "ended"])
    op.create_table(
        "desk_result",
        sa.Column("attempt", sa.String(32), sa.ForeignKey("desk_attempt.id"), primary_key=True),
        sa.Column("packed", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "desk_bucket",
        sa.Column("owner", sa.String(255), primary_key=True),
        sa.Column("name", sa.String(255), primary_key=True),
        sa.Column("full", sa.Double, nullable=False),
    )
    op.create_table(
        "desk_key",
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("person", sa.Integer, sa.ForeignKey("desk_person.id"), nullable=False),
        sa.Column("made", sa.Double, nullable=False),
        sa.Column("ends", sa.Double, nullable=False),
        sa.Column("revoked", sa.Boolean, nullable=False),
    )
    op.create_index("ix_desk_key_person", "desk_key", ["person"])
    op.create_table(
        "desk_nonce",
        sa.Column("nonce", sa.String(255), primary_key=True),
        sa.Column("ends", sa.Double, nullable=False),
    )
    op.create_index("ix_desk_nonce_ends", "desk_nonce", ["ends"])
    op.create_table(
        "desk_secret",
        sa.Column("name", sa.String(255), primary_key=True),
        sa.Column("value", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "desk_lti",
        sa.Column("person", sa.Integer, sa.ForeignKey("desk_person.id"), primary_key=True),
        sa.Column("said", sa.Text, nullable=False),
    )
    op.create_table(
        "desk_delivery",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("person", sa.Integer, sa.ForeignKey("desk_person.id"), nullable=False),
        sa.Column("attempt", sa.String(32), sa.ForeignKey("desk_attempt.id"), nullable=False),
        sa.Column("assignment", sa.String(255), nullable=False),
        sa.Column("points", sa.Double, nullable=False),
        sa.Column("max_points", sa.Double, nullable=False),
        sa.Column("is_all", sa.Boolean, nullable=False),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("next", sa.Double, nullable=False),
        sa.Column("done", sa.Double),
        sa.Column("problem", sa.Text),
    )
    op.create_index("ix_desk_delivery_person", "desk_delivery", ["person"])
    op.create_index("ix_desk_delivery_next", "desk_delivery", ["next"])
