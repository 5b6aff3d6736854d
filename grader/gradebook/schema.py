"""The gradebook's tables."""

APPLICATION_ID = 0x42554748
"""By which SQLite files of this kit are told from others."""

SCHEMA_VERSION = 1

SCHEMA = (
    """CREATE TABLE batches (
        id INTEGER PRIMARY KEY,
        started_at TEXT NOT NULL,
        ended_at TEXT,
        seed INTEGER NOT NULL,
        submissions TEXT NOT NULL,
        options TEXT NOT NULL
    )""",
    """CREATE TABLE submissions (
        id INTEGER PRIMARY KEY,
        student TEXT NOT NULL,
        exercise TEXT NOT NULL,
        UNIQUE (student, exercise)
    )""",
    # A changed submission, exercise or kit adds a row; the newest counts. seen: what was seen of a submission that is
    # not gradable. is_closed: files and network were out of reach. is_bound: names lines, so it is
    # shared by exact copies alone.
    """CREATE TABLE verdicts (
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
        judged_at TEXT NOT NULL
    )""",
    "CREATE INDEX newest ON verdicts (submission, id)",
    "CREATE INDEX same_digest ON verdicts (digest) WHERE shared_with IS NULL",
    "CREATE INDEX same_fingerprint ON verdicts (fingerprint) WHERE shared_with IS NULL",
    """CREATE TABLE defects (
        verdict INTEGER NOT NULL REFERENCES verdicts,
        defect TEXT NOT NULL,
        status TEXT NOT NULL,
        points REAL NOT NULL,
        max_points REAL NOT NULL,
        stretch INTEGER NOT NULL,
        reason TEXT NOT NULL,
        PRIMARY KEY (verdict, defect)
    ) WITHOUT ROWID""",
    """CREATE TABLE checks (
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
    # One row a submission: its newest verdict. seen_in is the verdict that holds the defects and checks.
    """CREATE VIEW current AS
        SELECT submissions.student, submissions.exercise, verdicts.outcome, verdicts.score, verdicts.max_score,
            verdicts.reason, verdicts.remark, verdicts.file, givers.student AS shared_with, verdicts.seed,
            verdicts.seconds, verdicts.isolation, verdicts.kit, verdicts.torch, verdicts.exercise_version,
            verdicts.judged_at, verdicts.id AS verdict, coalesce(verdicts.shared_with, verdicts.id) AS seen_in
        FROM submissions
        JOIN verdicts ON verdicts.id = (SELECT max(id) FROM verdicts WHERE submission = submissions.id)
        LEFT JOIN verdicts AS given ON given.id = verdicts.shared_with
        LEFT JOIN submissions AS givers ON givers.id = given.submission""",
    """CREATE VIEW current_defects AS
        SELECT student, exercise, defect, status, points, defects.max_points, stretch, defects.reason
        FROM current JOIN defects ON defects.verdict = current.seen_in""",
    """CREATE VIEW current_checks AS
        SELECT student, exercise, number, check_id, status, kind, finding, sizes, location, explained_by,
            is_regression, checks.seconds
        FROM current JOIN checks ON checks.verdict = current.seen_in""",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)
