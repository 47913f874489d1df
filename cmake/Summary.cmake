# What was configured, at the end of CMake's output.
if(PROJECT_IS_TOP_LEVEL)
  string(REGEX MATCH "-fsanitize=([^ ]*)" sanitizers "${CMAKE_CXX_FLAGS}")
  set(sanitizers ${CMAKE_MATCH_1})
  foreach(value "build type:CMAKE_BUILD_TYPE" "warnings stop:PPSIM_WERROR" "tests:PPSIM_BUILD_TESTS" "benchmark:PPSIM_BUILD_BENCH"
                "fuzzers:PPSIM_BUILD_FUZZERS" "sanitizers:sanitizers" "clang-tidy:CMAKE_CXX_CLANG_TIDY" "prefix:CMAKE_INSTALL_PREFIX")
    string(REGEX MATCH "(.*):(.*)" _ ${value})
    string(LENGTH "${CMAKE_MATCH_1}" length)
    math(EXPR padding "14 - ${length}")
    string(REPEAT " " ${padding} padding)
    string(APPEND summary "\n   ${CMAKE_MATCH_1}${padding}${${CMAKE_MATCH_2}}")
  endforeach()
  message(STATUS "ppsim ${PROJECT_VERSION}, ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}${summary}")
endif()
