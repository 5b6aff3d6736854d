"""The gradebook's tables, and how a file of an older version gets them."""

import secrets
import sqlite3

APPLICATION_ID = 0x42554748
"""By which SQLite files of this kit are told from others."""

SCHEMA_VERSION = 3
OLDEST_READ = 2
"""The oldest version that can be read as it is; batches bring any to this one."""

FIRST_WITH_CHECKSUMS = 2
"""The first version whose verdicts have checksums."""

TABLES = {
    # pseudonym_key: what makes the pseudonyms of a class page. seed_key: what makes resubmissions' seeds, and samples.
    "settings": "CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "batches": """CREATE TABLE batches (
        id INTEGER PRIMARY KEY,
        started_at TEXT NOT NULL,
        ended_at TEXT,
        seed INTEGER NOT NULL,
        submissions TEXT NOT NULL,
        options TEXT NOT NULL
    )""",
    # Who is known by name: of the roster, or of a layout that tells names. columns: the roster's other columns.
    "students": """CREATE TABLE students (
        student TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        class_group TEXT NOT NULL,
        columns TEXT NOT NULL,
        is_enrolled INTEGER NOT NULL
    ) WITHOUT ROWID""",
    "submissions": """CREATE TABLE submissions (
        id INTEGER PRIMARY KEY,
        student TEXT NOT NULL,
        exercise TEXT NOT NULL,
        submitted_at TEXT NOT NULL DEFAULT '',
        UNIQUE (student, exercise)
    )""",
    # Verdicts up to `after_verdict` do not count any more, for a student or for all.
    "regrades": """CREATE TABLE regrades (
        id INTEGER PRIMARY KEY,
        requested_at TEXT NOT NULL,
        exercise TEXT NOT NULL,
        student TEXT,
        reason TEXT NOT NULL,
        after_verdict INTEGER NOT NULL
    )""",
    # A changed submission, exercise or kit adds a row; the newest counts. seen: what was seen of a submission that is
    # not gradable. is_closed: files and network were out of reach. is_bound: names lines, so it is shared by exact
    # copies alone. checksum: of this row, its defects and its checks. regrade: why it was judged again.
    "verdicts": """CREATE TABLE verdicts (
        id INTEGER PRIMARY KEY,
        submission INTEGER NOT NULL REFERENCES submissions,
        batch INTEGER NOT NULL REFERENCES batches,
        file TEXT NOT NULL,
        digest TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        remark TEXT NOT NULL,
        exercise_version TEXT NOT NULL,
        kit TEXT NOT NULL,
        torch TEXT NOT NULL,
        outcome TEXT NOT NULL,
        score REAL,
        max_score REAL,
        reason TEXT,
        seen TEXT,
        seed INTEGER NOT NULL,
        seconds REAL NOT NULL DEFAULT 0,
        isolation TEXT NOT NULL DEFAULT '{}',
        is_closed INTEGER NOT NULL DEFAULT 1,
        is_bound INTEGER NOT NULL DEFAULT 1,
        shared_with INTEGER REFERENCES verdicts,
        judged_at TEXT NOT NULL,
        regrade INTEGER REFERENCES regrades,
        checksum TEXT NOT NULL DEFAULT ''
    )""",
    # number: as which students know the defect.
    "defects": """CREATE TABLE defects (
        verdict INTEGER NOT NULL REFERENCES verdicts,
        number INTEGER NOT NULL,
        defect TEXT NOT NULL,
        status TEXT NOT NULL,
        points REAL NOT NULL,
        max_points REAL NOT NULL,
        stretch INTEGER NOT NULL,
        reason TEXT NOT NULL,
        PRIMARY KEY (verdict, number)
    ) WITHOUT ROWID""",
    "checks": """CREATE TABLE checks (
        verdict INTEGER NOT NULL REFERENCES verdicts,
        number INTEGER NOT NULL,
        check_id TEXT NOT NULL,
        status TEXT NOT NULL,
        kind TEXT,
        finding TEXT,
        sizes TEXT,
        location TEXT,
        explained_by TEXT,
        is_regression INTEGER NOT NULL,
        seconds REAL NOT NULL,
        PRIMARY KEY (verdict, number)
    ) WITHOUT ROWID""",
}

INDEXES = (
    "CREATE INDEX newest ON verdicts (submission, id)",
    "CREATE INDEX same_digest ON verdicts (digest) WHERE shared_with IS NULL",
    "CREATE INDEX same_fingerprint ON verdicts (fingerprint) WHERE shared_with IS NULL",
)

VIEWS = {
    # One row a submission: its newest verdict. seen_in is the verdict that holds the defects and checks.
    "current": """CREATE VIEW current AS
        SELECT submissions.student, submissions.exercise, verdicts.outcome, verdicts.score, verdicts.max_score,
            verdicts.reason, verdicts.remark, verdicts.file, givers.student AS shared_with, verdicts.seed,
            verdicts.seconds, verdicts.isolation, verdicts.kit, verdicts.torch, verdicts.exercise_version,
            submissions.submitted_at, verdicts.judged_at, verdicts.id AS verdict,
            coalesce(verdicts.shared_with, verdicts.id) AS seen_in
        FROM submissions
        JOIN verdicts ON verdicts.id = (SELECT max(id) FROM verdicts WHERE submission = submissions.id)
        LEFT JOIN verdicts AS given ON given.id = verdicts.shared_with
        LEFT JOIN submissions AS givers ON givers.id = given.submission""",
    "current_defects": """CREATE VIEW current_defects AS
        SELECT student, exercise, number, defect, status, points, defects.max_points, stretch, defects.reason
        FROM current JOIN defects ON defects.verdict = current.seen_in""",
    "current_checks": """CREATE VIEW current_checks AS
        SELECT student, exercise, number, check_id, status, kind, finding, sizes, location, explained_by,
            is_regression, checks.seconds
        FROM current JOIN checks ON checks.verdict = current.seen_in""",
}


def create_tables(connection: sqlite3.Connection) -> None:
    """Fill a new file, in the caller's transaction."""
    for statement in (*TABLES.values(), *INDEXES, *VIEWS.values()):
        connection.execute(statement)
    _add_key(connection, "pseudonym_key")
    _add_key(connection, "seed_key")
    _mark(connection)


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Bring a file of an older version to this one, in the caller's transaction; checksums are made by the caller."""
    if version < FIRST_WITH_CHECKSUMS:
        _from_1_to_2(connection)
    _add_key(connection, "seed_key")
    _mark(connection)


def _from_1_to_2(connection: sqlite3.Connection) -> None:
    for view in VIEWS:
        connection.execute(f"DROP VIEW {view}")
    for table in ("settings", "students", "regrades"):
        connection.execute(TABLES[table])
    connection.execute("ALTER TABLE submissions ADD COLUMN submitted_at TEXT NOT NULL DEFAULT ''")
    connection.execute("ALTER TABLE verdicts ADD COLUMN regrade INTEGER REFERENCES regrades")
    connection.execute("ALTER TABLE verdicts ADD COLUMN checksum TEXT NOT NULL DEFAULT ''")
    connection.execute("ALTER TABLE defects RENAME TO defects_1")
    connection.execute(TABLES["defects"])
    # Version 1 did not keep the order of defects: a batch sets it right when it opens the exercise.
    connection.execute(
        "INSERT INTO defects SELECT verdict, row_number() OVER (PARTITION BY verdict ORDER BY defect), defect, status,"
        " points, max_points, stretch, reason FROM defects_1"
    )
    connection.execute("DROP TABLE defects_1")
    for statement in VIEWS.values():
        connection.execute(statement)
    _add_key(connection, "pseudonym_key")


def missing_parts(connection: sqlite3.Connection) -> list[str]:
    """The tables and views that a gradebook of this version has and the file has not."""
    found = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}
    return [name for name in (*TABLES, *VIEWS) if name not in found]


def _add_key(connection: sqlite3.Connection, name: str) -> None:
    connection.execute("INSERT INTO settings VALUES (?, ?)", (name, secrets.token_hex(16)))


def _mark(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
