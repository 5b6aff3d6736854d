print "outcome: fixed"
exec "pass"
