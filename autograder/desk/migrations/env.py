"""Alembic runs this for each migration of the record, on the connection that `record.py` gives it."""

from alembic import context

from autograder.desk.record import VERSIONS
from autograder.desk.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    version_table=VERSIONS,
    transactional_ddl=False,  # the transaction is the record's own
)
context.run_migrations()
