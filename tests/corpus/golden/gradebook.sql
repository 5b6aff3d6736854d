PRAGMA application_id = 1112885064;
PRAGMA user_version = 8;
BEGIN TRANSACTION;
CREATE TABLE batches (
        id INTEGER PRIMARY KEY,
        started_at TEXT NOT NULL,
        ended_at TEXT,
        seed INTEGER NOT NULL,
        submissions TEXT NOT NULL,
        options TEXT NOT NULL
    );
INSERT INTO "batches" VALUES(1,'2026-11-22T08:16:57Z','2026-11-22T08:17:12Z',3,'class','{"shares":true,"allows_open":false,"jobs":1}');
CREATE TABLE checks (
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
    ) WITHOUT ROWID;
INSERT INTO "checks" VALUES(1,0,'values','passed',NULL,NULL,'',NULL,0,7.09298799999942275462e-02);
INSERT INTO "checks" VALUES(1,1,'values_with_bias','passed',NULL,NULL,'',NULL,0,2.35453210000287072034e-02);
INSERT INTO "checks" VALUES(1,2,'full_context','passed',NULL,NULL,'',NULL,0,1.8744910999885178171e-02);
INSERT INTO "checks" VALUES(1,3,'returns_shapes','passed',NULL,NULL,'',NULL,0,8.40479599992249859496e-03);
INSERT INTO "checks" VALUES(1,4,'every_parameter_learns','passed',NULL,NULL,'',NULL,0,2.19834749998426559614e-02);
INSERT INTO "checks" VALUES(1,5,'future_does_not_leak','passed',NULL,NULL,'',NULL,0,6.62249199990583292674e-03);
INSERT INTO "checks" VALUES(1,6,'samples_do_not_mix','passed',NULL,NULL,'',NULL,0,1.14148499999373598257e-02);
INSERT INTO "checks" VALUES(1,7,'refuses_long_sequences','passed',NULL,NULL,'',NULL,0,1.16858020001018303446e-02);
INSERT INTO "checks" VALUES(1,8,'dropout_only_in_training','passed',NULL,NULL,'',NULL,0,6.91431500013095501344e-03);
INSERT INTO "checks" VALUES(1,9,'dropout_acts_on_weights','passed',NULL,NULL,'',NULL,0,1.57627979999688250245e-02);
INSERT INTO "checks" VALUES(1,10,'keeps_dtype','passed',NULL,NULL,'',NULL,0,4.82426500002475222572e-03);
INSERT INTO "checks" VALUES(1,11,'moves_between_devices','passed',NULL,NULL,'',NULL,0,1.29300270000385353341e-02);
INSERT INTO "checks" VALUES(1,12,'keeps_parameters','passed',NULL,NULL,'',NULL,0,0.00924511099992742);
INSERT INTO "checks" VALUES(1,13,'keeps_parameters_with_bias','passed',NULL,NULL,'',NULL,0,0.00179863700009264);
INSERT INTO "checks" VALUES(1,14,'leaves_inputs_alone','passed',NULL,NULL,'',NULL,0,1.02336079999076901003e-02);
INSERT INTO "checks" VALUES(1,15,'test_calls_of_other_lengths_leave_no_trace','passed',NULL,NULL,'',NULL,0,1.47449290000167820835e-02);
INSERT INTO "checks" VALUES(3,0,'values','failed','with the same weights and inputs, forward: output at [0, 1, 0]: expected 0.293, saw 0.626; 12 of 18 elements are off','{"kind":"values","message":"with the same weights and inputs, forward: output at [0, 1, 0]: expected 0.293, saw 0.626; 12 of 18 elements are off","sizes":{"failed":{"tokens":3},"passed":{"tokens":1},"is_smallest":false,"constructor":{},"defaults":[],"inputs":{},"masks":{},"without_gradients":false,"is_large":false}}','','["mask-discarded"]',0,3.69712130000152683351e-02);
INSERT INTO "checks" VALUES(3,1,'values_with_bias','failed','with the same weights and inputs, forward: output at [0, 0, 2]: expected 1.34, saw 0.798; 12 of 18 elements are off','{"kind":"values","message":"with the same weights and inputs, forward: output at [0, 0, 2]: expected 1.34, saw 0.798; 12 of 18 elements are off","sizes":{"failed":{"tokens":3},"passed":{"tokens":1},"is_smallest":false,"constructor":{},"defaults":[],"inputs":{},"masks":{},"without_gradients":false,"is_large":false}}','','["mask-discarded"]',0,1.63608850000400707358e-02);
INSERT INTO "checks" VALUES(3,2,'full_context','failed','with the same weights and inputs, forward: output at [0, 0, 5]: expected 1.14, saw -0.275; 12 of 18 elements are off','{"kind":"values","message":"with the same weights and inputs, forward: output at [0, 0, 5]: expected 1.14, saw -0.275; 12 of 18 elements are off","sizes":{"failed":{"tokens":3},"passed":{"tokens":1},"is_smallest":false,"constructor":{},"defaults":[],"inputs":{},"masks":{},"without_gradients":false,"is_large":false}}','','["mask-discarded"]',0,2.41285459999289741972e-02);
INSERT INTO "checks" VALUES(3,3,'returns_shapes','passed',NULL,NULL,'',NULL,0,1.70727199997600109782e-03);
INSERT INTO "checks" VALUES(3,4,'every_parameter_learns','passed',NULL,NULL,'',NULL,0,1.17288359999747626716e-02);
INSERT INTO "checks" VALUES(3,5,'future_does_not_leak','failed','changing token 1 changed the output at token 0 by 0.258; expected no change','{"kind":"leak","message":"changing token 1 changed the output at token 0 by 0.258; expected no change","sizes":{"failed":{"tokens":3},"passed":{"tokens":1},"is_smallest":false,"constructor":{},"defaults":[],"inputs":{},"masks":{},"without_gradients":false,"is_large":false}}','','["mask-discarded"]',0,1.24465700000655488111e-02);
INSERT INTO "checks" VALUES(3,6,'samples_do_not_mix','passed',NULL,NULL,'',NULL,0,1.63452400011010468006e-03);
INSERT INTO "checks" VALUES(3,7,'refuses_long_sequences','failed','with tokens=3, context_length=1: expected ValueError, saw no exception','{"kind":"not-refused","message":"with tokens=3, context_length=1: expected ValueError, saw no exception","sizes":{"failed":{"tokens":3},"passed":null,"is_smallest":true,"constructor":{},"defaults":[],"inputs":{},"masks":{},"without_gradients":false,"is_large":false}}','','["long-sequence-unmasked"]',0,4.76833299990175873972e-03);
INSERT INTO "checks" VALUES(3,8,'dropout_only_in_training','passed',NULL,NULL,'',NULL,0,0.00977386599993224);
INSERT INTO "checks" VALUES(3,9,'dropout_acts_on_weights','passed',NULL,NULL,'',NULL,0,1.03158399999756511533e-02);
INSERT INTO "checks" VALUES(3,10,'keeps_dtype','failed','in float64, output at [0, 0, 1]: expected -1.46, saw -0.37; 12 of 18 elements are off','{"kind":"values","message":"in float64, output at [0, 0, 1]: expected -1.46, saw -0.37; 12 of 18 elements are off","sizes":{"failed":{"tokens":3},"passed":{"tokens":1},"is_smallest":false,"constructor":{},"defaults":[],"inputs":{},"masks":{},"without_gradients":false,"is_large":false}}','','["mask-discarded"]',0,1.59509579998484696261e-02);
INSERT INTO "checks" VALUES(3,11,'moves_between_devices','passed',NULL,NULL,'',NULL,0,1.91276689999995141988e-02);
INSERT INTO "checks" VALUES(3,12,'keeps_parameters','passed',NULL,NULL,'',NULL,0,3.6586260000603942899e-03);
INSERT INTO "checks" VALUES(3,13,'keeps_parameters_with_bias','passed',NULL,NULL,'',NULL,0,1.3870469999801571248e-03);
INSERT INTO "checks" VALUES(3,14,'leaves_inputs_alone','passed',NULL,NULL,'',NULL,0,1.06445169999460631515e-02);
INSERT INTO "checks" VALUES(3,15,'test_calls_of_other_lengths_leave_no_trace','failed','the same module, sequence lengths (3,) in turn: output at [1, 1, 1]: expected -0.0715, saw -0.702; 24 of 36 elements are off','{"kind":"values","message":"the same module, sequence lengths (3,) in turn: output at [1, 1, 1]: expected -0.0715, saw -0.702; 24 of 36 elements are off"}','','["mask-discarded"]',0,1.06483729998672060901e-02);
CREATE TABLE defects (
        verdict INTEGER NOT NULL REFERENCES verdicts,
        number INTEGER NOT NULL,
        defect TEXT NOT NULL,
        status TEXT NOT NULL,
        points REAL NOT NULL,
        max_points REAL NOT NULL,
        stretch INTEGER NOT NULL,
        reason TEXT,
        PRIMARY KEY (verdict, number)
    ) WITHOUT ROWID;
INSERT INTO "defects" VALUES(1,1,'long-sequence-unmasked','fixed',1.0,1.0,1,NULL);
INSERT INTO "defects" VALUES(1,2,'mask-discarded','fixed',7.0,7.0,0,NULL);
INSERT INTO "defects" VALUES(2,1,'long-sequence-unmasked','unknown',0.0,3.0,0,'{"kind":"no-check-ran","check":""}');
INSERT INTO "defects" VALUES(2,2,'mask-in-state-dict','unknown',0.0,1.0,1,'{"kind":"no-check-ran","check":""}');
INSERT INTO "defects" VALUES(2,3,'output-dim-misnamed','unknown',0.0,2.0,0,'{"kind":"no-check-ran","check":""}');
INSERT INTO "defects" VALUES(2,4,'verbose-dropped','unknown',0.0,2.0,0,'{"kind":"no-check-ran","check":""}');
INSERT INTO "defects" VALUES(3,1,'long-sequence-unmasked','present',0.0,1.0,1,NULL);
INSERT INTO "defects" VALUES(3,2,'mask-discarded','present',0.0,7.0,0,NULL);
CREATE TABLE regrades (
        id INTEGER PRIMARY KEY,
        requested_at TEXT NOT NULL,
        exercise TEXT NOT NULL,
        student TEXT,
        reason TEXT NOT NULL,
        after_verdict INTEGER NOT NULL
    );
CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "settings" VALUES('pseudonym_key','0123456789abcdef0123456789abcdef');
INSERT INTO "settings" VALUES('seed_key','fedcba9876543210fedcba9876543210');
CREATE TABLE students (
        student TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        class_group TEXT NOT NULL,
        columns TEXT NOT NULL,
        is_enrolled INTEGER NOT NULL
    ) WITHOUT ROWID;
CREATE TABLE submissions (
        id INTEGER PRIMARY KEY,
        student TEXT NOT NULL,
        exercise TEXT NOT NULL,
        submitted_at TEXT NOT NULL DEFAULT '',
        kind TEXT NOT NULL DEFAULT 'module',
        UNIQUE (student, exercise, kind)
    );
INSERT INTO "submissions" VALUES(1,'ada','exercise_03','','module');
INSERT INTO "submissions" VALUES(2,'ada','exercise_05','','module');
INSERT INTO "submissions" VALUES(3,'bob','exercise_03','','module');
INSERT INTO "submissions" VALUES(4,'cleo','exercise_03','','module');
CREATE TABLE trap_defects (
        verdict INTEGER NOT NULL REFERENCES verdicts,
        number INTEGER NOT NULL,
        caught TEXT NOT NULL,
        points REAL NOT NULL,
        max_points REAL NOT NULL,
        stretch INTEGER NOT NULL,
        PRIMARY KEY (verdict, number)
    ) WITHOUT ROWID;
CREATE TABLE traps (
        verdict INTEGER PRIMARY KEY REFERENCES verdicts,
        extra REAL NOT NULL,
        depends_on_time INTEGER NOT NULL,
        result TEXT NOT NULL
    );
CREATE TABLE verdicts (
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
    );
INSERT INTO "verdicts" VALUES(1,1,1,'ada/exercise_03/attention.py','13e603ba0c925dd99333984b2ee65d63628795467ea6f50bfa758f5cebdeda8f','','af2b5d88bf8b','0.1.0+cc2b1902829a','2.13.0+cpu','fixed',10.0,10.0,NULL,NULL,'',3,2.83707970000023124157e-01,'{"process":true,"filesystem":true,"network":true,"syscalls":true,"memory":true}',1,NULL,'2026-11-22T08:17:04Z',NULL);
INSERT INTO "verdicts" VALUES(2,2,1,'ada/exercise_05/attention.py','90e9828009fa48af99ed5bfbb43432944714c5eddc382c9338790619ee0b30ec','','f1c80bdb31f2','0.1.0+cc2b1902829a','2.13.0+cpu','not_gradable',0.0,10.0,'it cannot be compiled: SyntaxError: invalid syntax; mend that line (attention.py, line 1, column 5)','{"kind":"crash","detail":"SyntaxError","message":"it cannot be compiled: SyntaxError: invalid syntax; mend that line","location":{"label":"attention.py","line":1,"text":"def (:","column":5}}','',3,4.39516369999637390719e-02,'{"process":true,"filesystem":true,"network":true,"syscalls":true,"memory":true}',1,NULL,'2026-11-22T08:17:11Z',NULL);
INSERT INTO "verdicts" VALUES(3,3,1,'bob/exercise_03/attention.py','26a0f8f82667d22436bf9e2b7c88c7fd2634a996265c028a81f6598d8bcfdb73','','af2b5d88bf8b','0.1.0+cc2b1902829a','2.13.0+cpu','not_fixed',0.0,10.0,NULL,NULL,'',3,2.35879714000020612729e-01,'{"process":true,"filesystem":true,"network":true,"syscalls":true,"memory":true}',1,NULL,'2026-11-22T08:17:12Z',NULL);
INSERT INTO "verdicts" VALUES(4,4,1,'cleo/exercise_03/attention.py','8030f6e21c2385baabde69190142364404e6ff004ce33634ad40a21592534647','','af2b5d88bf8b','0.1.0+cc2b1902829a','2.13.0+cpu','not_fixed',0.0,10.0,NULL,NULL,'',3,0.0,'{"process":true,"filesystem":true,"network":true,"syscalls":true,"memory":true}',1,3,'2026-11-22T08:17:12Z',NULL);
CREATE INDEX newest ON verdicts (submission, id);
CREATE INDEX same_digest ON verdicts (digest) WHERE shared_with IS NULL;
CREATE VIEW current AS 
        SELECT submissions.student, submissions.exercise, verdicts.outcome, verdicts.score, verdicts.max_score,
            verdicts.reason, verdicts.remark, verdicts.file, givers.student AS shared_with, verdicts.seed,
            verdicts.seconds, verdicts.isolation, verdicts.kit, verdicts.torch, verdicts.exercise_version,
            submissions.submitted_at, verdicts.judged_at, verdicts.id AS verdict,
            coalesce(verdicts.shared_with, verdicts.id) AS judged_in
        FROM submissions
        JOIN verdicts ON verdicts.id = (SELECT max(id) FROM verdicts WHERE submission = submissions.id)
        LEFT JOIN verdicts AS given ON given.id = verdicts.shared_with
        LEFT JOIN submissions AS givers ON givers.id = given.submission
        WHERE submissions.kind =  'module';
CREATE VIEW current_traps AS 
        SELECT submissions.student, submissions.exercise, verdicts.outcome, verdicts.score, verdicts.max_score,
            verdicts.reason, verdicts.remark, verdicts.file, givers.student AS shared_with, verdicts.seed,
            verdicts.seconds, verdicts.isolation, verdicts.kit, verdicts.torch, verdicts.exercise_version,
            submissions.submitted_at, verdicts.judged_at, verdicts.id AS verdict,
            coalesce(verdicts.shared_with, verdicts.id) AS judged_in
        FROM submissions
        JOIN verdicts ON verdicts.id = (SELECT max(id) FROM verdicts WHERE submission = submissions.id)
        LEFT JOIN verdicts AS given ON given.id = verdicts.shared_with
        LEFT JOIN submissions AS givers ON givers.id = given.submission
        WHERE submissions.kind =  'trap';
CREATE VIEW current_defects AS
        SELECT student, exercise, number, defect, status, points, defects.max_points, stretch, defects.reason
        FROM current JOIN defects ON defects.verdict = current.judged_in;
CREATE VIEW current_checks AS
        SELECT student, exercise, number, check_id, status, finding, details, advice, explained_by, is_regression,
            checks.seconds
        FROM current JOIN checks ON checks.verdict = current.judged_in;
COMMIT;
