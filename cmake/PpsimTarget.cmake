# One place for compiler flags and for how a ppsim library is declared.
if(PPSIM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(PPSIM_CCACHE_PROGRAM ccache)
  mark_as_advanced(PPSIM_CCACHE_PROGRAM)
  if(PPSIM_CCACHE_PROGRAM)
    # Nothing of where the checkout lies counts, so that another one finds what this one compiled.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${PPSIM_CCACHE_PROGRAM})
    add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>
      "$<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
endif()

if(PPSIM_WERROR STREQUAL "AUTO")
  string(REGEX MATCH "^[0-9]+" compiler_version ${CMAKE_CXX_COMPILER_VERSION})
  if("${CMAKE_CXX_COMPILER_ID} ${compiler_version}" MATCHES "^(GNU 12|Clang 16)$" AND "${CMAKE_CXX_FLAGS}" STREQUAL "")
    set(PPSIM_WERROR ON)
  else()
    set(PPSIM_WERROR OFF)
  endif()
endif()
# g++ collects its own garbage from 1 GiB on: the program compiles in 6 % less time, in 200 MB more.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1048576>)

# By its path from the build folder, so that a compiler cache knows the objects of another clone.
if("${CMAKE_CXX_FLAGS}" MATCHES "-fsanitize=")
  file(RELATIVE_PATH ignored "${PROJECT_BINARY_DIR}" "${PROJECT_SOURCE_DIR}/cmake/sanitizers-ignore.txt")
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fsanitize-ignorelist=${ignored}>)
endif()

# Objects that both the program and the Python module can hold, so that nothing is compiled twice. Calls inside a library stay as they
# are without it: nobody puts functions of their own in the place of ours.
add_compile_options($<$<NOT:$<PLATFORM_ID:Emscripten>>:-fPIC> $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-semantic-interposition>)

add_library(ppsim_warnings INTERFACE)
target_compile_options(ppsim_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast
  $<$<BOOL:${PPSIM_WERROR}>:-Werror>)

# The standard library and fmt, read once for all targets: half of what the front end does. Only a shortcut: files include what
# they use (the preset "alone" asks).
add_library(ppsim_std OBJECT ${PROJECT_SOURCE_DIR}/cmake/std.cpp)
set_target_properties(ppsim_std PROPERTIES CXX_EXTENSIONS OFF)
target_compile_features(ppsim_std PRIVATE cxx_std_20)
target_link_libraries(ppsim_std PRIVATE fmt::fmt Threads::Threads ppsim_warnings)
set(PPSIM_STD_HEADERS
  <algorithm> <array> <charconv> <chrono> <cmath> <cstdint> <cstring> <filesystem> <functional> <limits> <map> <memory> <mutex>
  <numeric> <optional> <queue> <ranges> <set> <span> <string> <string_view> <thread> <tuple> <unordered_map> <utility> <variant>
  <vector> <fmt/format.h>)
target_precompile_headers(ppsim_std PRIVATE ${PPSIM_STD_HEADERS})

# ppsim_add_library(sim SOURCES ... DEPENDS ... PRIVATE_DEPENDS ...): target ppsim_sim, alias and export name ppsim::sim.
# What is private and only headers is not exported: a program that links the installed library does not need it.
function(ppsim_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(ppsim_${name} STATIC ${ARG_SOURCES})
  add_library(ppsim::${name} ALIAS ppsim_${name})
  set_target_properties(ppsim_${name} PROPERTIES EXPORT_NAME ${name} CXX_EXTENSIONS OFF)
  target_compile_features(ppsim_${name} PUBLIC cxx_std_20)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/include)
    target_include_directories(ppsim_${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)
    ppsim_install_headers(${name})
  endif()
  target_include_directories(ppsim_${name} PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}> PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(ppsim_${name} PUBLIC ${ARG_DEPENDS} PRIVATE $<BUILD_INTERFACE:ppsim_warnings>)
  foreach(dependency IN LISTS ARG_PRIVATE_DEPENDS)
    set(type)
    if(TARGET ${dependency})
      get_target_property(type ${dependency} TYPE)
    endif()
    if(type STREQUAL INTERFACE_LIBRARY)
      set(dependency $<BUILD_INTERFACE:${dependency}>)
    endif()
    target_link_libraries(ppsim_${name} PRIVATE ${dependency})
  endforeach()
  install(TARGETS ppsim_${name} EXPORT ppsim-targets)
endfunction()

# ppsim_add_module(graph AFTER schedule DEPENDS ...): target ppsim_graph, a part of ppsim::sim with headers of its own. It sees those
# of the module named and of those before it, and no others; include/.../detail is for other modules, and not installed.
function(ppsim_add_module name)
  cmake_parse_arguments(ARG "" "AFTER" "DEPENDS" ${ARGN})
  add_library(ppsim_${name} OBJECT)
  set_target_properties(ppsim_${name} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_features(ppsim_${name} PUBLIC cxx_std_20)
  target_include_directories(ppsim_${name} PUBLIC include PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(ppsim_${name} PRIVATE ${ARG_DEPENDS} ppsim_warnings)
  if(ARG_AFTER)
    target_link_libraries(ppsim_${name} PUBLIC ppsim_${ARG_AFTER})
  endif()
  ppsim_install_headers(${name})
  set_property(GLOBAL APPEND PROPERTY PPSIM_MODULES ${name})
endfunction()

# Installs the public headers of the folder, and lists it among those whose headers have to compile alone.
function(ppsim_install_headers name)
  install(DIRECTORY include/ TYPE INCLUDE PATTERN detail EXCLUDE)
  set_property(GLOBAL APPEND PROPERTY PPSIM_LIBRARIES ${name})
  set_property(GLOBAL PROPERTY PPSIM_HEADERS_${name} ${CMAKE_CURRENT_SOURCE_DIR}/include)
endfunction()

# What -O2 turns on for a processor and -Og does not. g++ 13 and later read a precompiled header only where both were told the same.
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-munroll-only-small-loops PPSIM_KEEPS_PRECOMPILED)
if(PPSIM_KEEPS_PRECOMPILED)
  set(ppsim_keeps_precompiled -munroll-only-small-loops -mvzeroupper)
endif()

# ppsim_compile_together(ppsim_sim NAME [OPTIMISE g] [PRECOMPILED ppsim_std|OFF] FILES...): adds files that the compiler gets as one,
# since it reads the same headers for each of them. OPTIMISE: the -O level of release builds, where it is not 3: -Og is the quickest to
# compile (-O0 makes more code). PRECOMPILED: the target whose precompiled header is read. What stands in an unnamed namespace must not
# be what another file of the group means by that name, nor hide what headers declare: that file would call the wrong one.
function(ppsim_compile_together target name)
  cmake_parse_arguments(ARG "" "OPTIMISE;PRECOMPILED" "" ${ARGN})
  set(files ${ARG_UNPARSED_ARGUMENTS})
  set(options)
  if(PPSIM_UNITY)
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/groups/${target})
    set(text)
    foreach(file IN LISTS files)
      # Relative, so that a compiler cache knows the file again in another checkout.
      get_filename_component(path ${file} ABSOLUTE)
      file(RELATIVE_PATH path ${folder} ${path})
      string(APPEND text "#include \"${path}\" // NOLINT: a source\n")
    endforeach()
    set(files ${folder}/${name}.cpp)
    file(CONFIGURE OUTPUT ${files} CONTENT "${text}" @ONLY)
    # g++ takes what is included for a header, whose unnamed namespaces would be another one in each file.
    set(options $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
  if(ARG_OPTIMISE)
    list(APPEND options $<$<CONFIG:Release>:-O${ARG_OPTIMISE}>)
    foreach(flag IN LISTS ppsim_keeps_precompiled)
      list(APPEND options $<$<CONFIG:Release>:${flag}>)
    endforeach()
  endif()
  target_sources(${target} PRIVATE ${files})
  set_source_files_properties(${files} PROPERTIES COMPILE_OPTIONS "${options}")
  if(NOT DEFINED ARG_PRECOMPILED)
    set(ARG_PRECOMPILED ppsim_std)
  endif()
  get_target_property(precompiled ${target} PRECOMPILE_HEADERS_REUSE_FROM)
  if(ARG_PRECOMPILED AND NOT precompiled)
    target_precompile_headers(${target} REUSE_FROM ${ARG_PRECOMPILED})
  endif()
endfunction()
