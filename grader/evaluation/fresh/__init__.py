"""Fresh hunts: mutants of rewritten references, kept only if checks see every defect and tell every subset apart."""
