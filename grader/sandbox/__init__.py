"""The untrusted side: the process that runs a submission. Its modules import no other part of the kit."""
