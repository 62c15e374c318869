/tmp/w/torchvenv/bin/python: can't open file '/tmp/w/wt/lin/p4.py': [Errno 2] No such file or directory
