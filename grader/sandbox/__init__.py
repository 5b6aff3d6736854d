"""The untrusted side: the process that runs a submission. Nothing here may import another part of the kit."""
