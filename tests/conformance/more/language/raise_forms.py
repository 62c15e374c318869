import torch
try:
    raise
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    raise 5
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    raise int
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    raise ValueError("m") from None
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    raise ValueError("m") from 5
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
e1 = ValueError("stored")
try:
    raise e1
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    raise [ValueError]
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    raise ValueError("x")
except 5: print(1)
