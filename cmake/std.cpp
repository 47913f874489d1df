// Nothing: its precompiled header is what counts, see PpsimTarget.cmake.
