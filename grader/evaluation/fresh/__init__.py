"""Fresh hunts: mutants of rewritten references, kept if checks detect every defect and distinguish every subset."""
