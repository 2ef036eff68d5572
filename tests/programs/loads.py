"""Libraries that open another one by its bare name, along their own path, once torch is there.

usage: loads.py LIBRARY...
"""

import ctypes
import sys

import torch

torch.mm(torch.ones(2, 2), torch.empty(2, 2, device="meta"))
for file in sys.argv[1:]:
    library = ctypes.CDLL(file)
    for way in (library.open_by_bare_name, library.open_by_origin):
        way.restype = ctypes.c_char_p
        print(way.__name__, way().decode())
