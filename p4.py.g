DataError: cannot read p4.py: No such file or directory
