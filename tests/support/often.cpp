// A precompiled header belongs to a program; this is the program of support/often.hpp.
