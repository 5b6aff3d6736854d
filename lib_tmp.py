import msgspec, subprocess, sys, os, tempfile
from pathlib import Path
from grader.classroom.gradebook.class_records import ClassRecords
from grader.spec.loading import load_exercise
from grader.spec.wrong_fixes import Expectation, load_wrong_fixes
from grader.spec.paths import Course
from tests.classroom.test_library import complaints_about
course=Course(root=Path('.').resolve())
lib={}
for ex in course.exercise_ids():
    for fix in load_wrong_fixes(course,ex): lib[ex,'wrong fix',fix.name]=(fix.text,fix.expect)
    for p in sorted(course.alternatives(ex).glob('*.py')): lib[ex,'alternative',p.stem]=(p.read_text(),Expectation())
    lib[ex,'starter','starter']=(course.pristine(course.editable_files(ex)[0]).read_text(),Expectation())
    lib[ex,'reference','reference']=(course.reference(ex).read_text(),Expectation())
seed=sys.argv[1]
t=Path(tempfile.mkdtemp())
(t/'l.jsonl').write_bytes(b"".join(msgspec.json.encode({"student":f"{k}: {n}","exercise":e,"source":s})+b"\n" for (e,k,n),(s,_) in lib.items()))
d=subprocess.run([sys.executable,'-m','grader','batch',t/'l.jsonl','--gradebook',t/'g.sqlite','--seed',seed,'--no-share','--allow-open'],capture_output=True,text=True)
print(d.returncode,d.stderr[-200:])
n=0
with ClassRecords(t/'g.sqlite') as r:
    for g in list(r.grades()):
        k,_,nm=g.student.partition(": "); n+=1
        c=complaints_about(k,r.verdict(g),lib[g.exercise,k,nm][1],is_right=not load_exercise(course.description(g.exercise)).defects)
        if c: print(g.exercise,k,nm,c)
print(n,'judged')
