"""Layer normalisation in NumPy, against which every configuration is checked. Arrays are in double precision."""
import numpy as np


def reference(x_ptr, weight_ptr, bias_ptr):
    away = x_ptr - x_ptr.mean(axis=1, keepdims=True)
    return away / np.sqrt((away * away).mean(axis=1, keepdims=True) + 1e-5) * weight_ptr + bias_ptr
