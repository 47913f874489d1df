# The oldest compilers whose C++20 the code is kept to. Others may work and are not refused.
set(oldest_GNU 12)
set(oldest_Clang 16)
if(DEFINED oldest_${CMAKE_CXX_COMPILER_ID} AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS oldest_${CMAKE_CXX_COMPILER_ID})
  message(FATAL_ERROR
    "ppsim needs g++ 12 or clang++ 16, or newer; found ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} "
    "(${CMAKE_CXX_COMPILER}).\nTo use another one: CXX=g++-12 cmake --fresh ...")
endif()
