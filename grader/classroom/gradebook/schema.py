"""The gradebook's tables, indexes and views."""

import secrets
import sqlite3

from grader.classroom.gradebook.rows import WorkKind

APPLICATION_ID = 0x42554748
"""Marks SQLite files of this kit."""

SCHEMA_VERSION = 8

TABLES = {
    # pseudonym_key: makes the pseudonyms of a class page. seed_key: makes the seeds of resubmissions.
    "settings": "CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "batches": """CREATE TABLE batches (
        id INTEGER PRIMARY KEY,
        started_at TEXT NOT NULL,
        ended_at TEXT,
        seed INTEGER NOT NULL,
        submissions TEXT NOT NULL,
        options TEXT NOT NULL
    )""",
    # Students whose names are known from a roster or a layout. columns: the roster's other columns.
    "students": """CREATE TABLE students (
        student TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        class_group TEXT NOT NULL,
        columns TEXT NOT NULL,
        is_enrolled INTEGER NOT NULL
    ) WITHOUT ROWID""",
    # kind: module or trap.
    "submissions": """CREATE TABLE submissions (
        id INTEGER PRIMARY KEY,
        student TEXT NOT NULL,
        exercise TEXT NOT NULL,
        submitted_at TEXT NOT NULL DEFAULT '',
        kind TEXT NOT NULL DEFAULT 'module',
        UNIQUE (student, exercise, kind)
    )""",
    # Verdicts up to `after_verdict` no longer count, for a student or for all students.
    "regrades": """CREATE TABLE regrades (
        id INTEGER PRIMARY KEY,
        requested_at TEXT NOT NULL,
        exercise TEXT NOT NULL,
        student TEXT,
        reason TEXT NOT NULL,
        after_verdict INTEGER NOT NULL
    )""",
    # A changed submission, exercise or kit adds a row; the newest row counts. unloadable: the
    # finding about a submission that is not gradable, as JSON. near_miss: the id of the near miss that the submission
    # behaves like. is_closed: files and network were out of reach. regrade: why it was graded again.
    "verdicts": """CREATE TABLE verdicts (
        id INTEGER PRIMARY KEY,
        submission INTEGER NOT NULL REFERENCES submissions,
        batch INTEGER NOT NULL REFERENCES batches,
        file TEXT NOT NULL,
        digest TEXT NOT NULL,
        remark TEXT NOT NULL,
        exercise_version TEXT NOT NULL,
        kit TEXT NOT NULL,
        torch TEXT NOT NULL,
        outcome TEXT NOT NULL,
        score REAL,
        max_score REAL,
        reason TEXT,
        unloadable TEXT,
        near_miss TEXT NOT NULL DEFAULT '',
        seed INTEGER NOT NULL,
        seconds REAL NOT NULL DEFAULT 0,
        isolation TEXT NOT NULL DEFAULT '{}',
        is_closed INTEGER NOT NULL DEFAULT 1,
        shared_with INTEGER REFERENCES verdicts,
        judged_at TEXT NOT NULL,
        regrade INTEGER REFERENCES regrades
    )""",
    # number: the number by which students know the defect. reason: why its status is unknown, as JSON.
    "defects": """CREATE TABLE defects (
        verdict INTEGER NOT NULL REFERENCES verdicts,
        number INTEGER NOT NULL,
        defect TEXT NOT NULL,
        status TEXT NOT NULL,
        points REAL NOT NULL,
        max_points REAL NOT NULL,
        stretch INTEGER NOT NULL,
        reason TEXT,
        PRIMARY KEY (verdict, number)
    ) WITHOUT ROWID""",
    # The verdict on a trap: its result as JSON, and a row per defect. depends_on_time: load may change the verdict.
    "traps": """CREATE TABLE traps (
        verdict INTEGER PRIMARY KEY REFERENCES verdicts,
        extra REAL NOT NULL,
        depends_on_time INTEGER NOT NULL,
        result TEXT NOT NULL
    )""",
    "trap_defects": """CREATE TABLE trap_defects (
        verdict INTEGER NOT NULL REFERENCES verdicts,
        number INTEGER NOT NULL,
        caught TEXT NOT NULL,
        points REAL NOT NULL,
        max_points REAL NOT NULL,
        stretch INTEGER NOT NULL,
        PRIMARY KEY (verdict, number)
    ) WITHOUT ROWID""",
    # finding: what is wrong, as a sentence. details: the same as JSON, with its kind, sizes and location.
    "checks": """CREATE TABLE checks (
        verdict INTEGER NOT NULL REFERENCES verdicts,
        number INTEGER NOT NULL,
        check_id TEXT NOT NULL,
        status TEXT NOT NULL,
        finding TEXT,
        details TEXT,
        advice TEXT NOT NULL,
        explained_by TEXT,
        is_regression INTEGER NOT NULL,
        seconds REAL NOT NULL,
        PRIMARY KEY (verdict, number)
    ) WITHOUT ROWID""",
}

INDEXES = (
    "CREATE INDEX newest ON verdicts (submission, id)",
    "CREATE INDEX same_digest ON verdicts (digest) WHERE shared_with IS NULL",
)

NEWEST = """
        SELECT submissions.student, submissions.exercise, verdicts.outcome, verdicts.score, verdicts.max_score,
            verdicts.reason, verdicts.remark, verdicts.file, givers.student AS shared_with, verdicts.seed,
            verdicts.seconds, verdicts.isolation, verdicts.kit, verdicts.torch, verdicts.exercise_version,
            submissions.submitted_at, verdicts.judged_at, verdicts.id AS verdict,
            coalesce(verdicts.shared_with, verdicts.id) AS judged_in
        FROM submissions
        JOIN verdicts ON verdicts.id = (SELECT max(id) FROM verdicts WHERE submission = submissions.id)
        LEFT JOIN verdicts AS given ON given.id = verdicts.shared_with
        LEFT JOIN submissions AS givers ON givers.id = given.submission
        WHERE submissions.kind = """
"""The newest verdict on each submission of a kind. judged_in is the verdict whose defects and checks it has."""

ATTEMPTS = (
    "SELECT count(*) FROM (SELECT digest, lag(digest) OVER (ORDER BY id) AS before FROM verdicts WHERE {})"
    " WHERE before IS NOT digest"
)
"""How often a student handed in another source than the time before; a condition for the verdicts is filled in."""

VIEWS = {
    "current": f"CREATE VIEW current AS {NEWEST} '{WorkKind.MODULE}'",
    "current_traps": f"CREATE VIEW current_traps AS {NEWEST} '{WorkKind.TRAP}'",
    "current_defects": """CREATE VIEW current_defects AS
        SELECT student, exercise, number, defect, status, points, defects.max_points, stretch, defects.reason
        FROM current JOIN defects ON defects.verdict = current.judged_in""",
    "current_checks": """CREATE VIEW current_checks AS
        SELECT student, exercise, number, check_id, status, finding, details, advice, explained_by, is_regression,
            checks.seconds
        FROM current JOIN checks ON checks.verdict = current.judged_in""",
}


def create_tables(connection: sqlite3.Connection) -> None:
    """Fill a new file, in the caller's transaction."""
    for statement in (*TABLES.values(), *INDEXES, *VIEWS.values()):
        connection.execute(statement)
    for key in ("pseudonym_key", "seed_key"):
        connection.execute("INSERT INTO settings VALUES (?, ?)", (key, secrets.token_hex(16)))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
