# Installs BUILD_DIR into an empty prefix, looks whether all is there, then configures, builds and runs the consumer against it.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK_DIR})
set(prefix ${WORK_DIR}/prefix)

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "failed (${status}): ${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})
foreach(pattern bin/ppsim share/man/man1/ppsim.1.gz share/bash-completion/completions/ppsim share/doc/ppsim/LICENSE
                include/ppsim/base/units.hpp lib*/cmake/ppsim/ppsim-config.cmake lib/*/cmake/ppsim/ppsim-config.cmake)
  file(GLOB found ${prefix}/${pattern})
  list(APPEND installed ${found})
endforeach()
list(LENGTH installed count)
if(NOT count EQUAL 6)
  message(FATAL_ERROR "expected 6 of these patterns to match, found ${count}: ${installed}")
endif()
run(${prefix}/bin/ppsim --version)
if(NOT output MATCHES "${VERSION}")
  message(FATAL_ERROR "installed version: ${output}, expected ${VERSION}")
endif()

run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK_DIR}/build -G ${GENERATOR} -D CMAKE_PREFIX_PATH=${prefix}
  -D PPSIM_VERSION=${VERSION} -D CMAKE_BUILD_TYPE=${BUILD_TYPE} -D CMAKE_CXX_COMPILER=${CXX_COMPILER} -D "CMAKE_CXX_FLAGS=${CXX_FLAGS}")
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run(${WORK_DIR}/build/consumer)
message("${output}")
