# One place for compiler flags and for how a ppsim library is declared.
add_library(ppsim_warnings INTERFACE)
target_compile_options(ppsim_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast
  $<$<BOOL:${PPSIM_WERROR}>:-Werror>)

# The standard library and fmt, read once for all targets: half of what the front end does. Only a shortcut: files include what they
# use, and clang-tidy reads them without.
add_library(ppsim_std OBJECT ${PROJECT_SOURCE_DIR}/cmake/std.cpp)
set_target_properties(ppsim_std PROPERTIES CXX_EXTENSIONS OFF)
target_compile_features(ppsim_std PRIVATE cxx_std_20)
target_link_libraries(ppsim_std PRIVATE fmt::fmt Threads::Threads ppsim_warnings)
target_precompile_headers(ppsim_std PRIVATE
  <algorithm> <array> <charconv> <chrono> <cmath> <cstdint> <cstring> <filesystem> <functional> <limits> <map> <memory> <mutex>
  <numeric> <optional> <queue> <ranges> <set> <span> <string> <string_view> <thread> <tuple> <unordered_map> <utility> <variant>
  <vector> <fmt/format.h>)

# ppsim_add_library(sim SOURCES ... DEPENDS ... PRIVATE_DEPENDS ...): target ppsim_sim, alias and export name ppsim::sim.
# What is private and only headers is not exported: a program that links the installed library does not need it.
function(ppsim_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(ppsim_${name} STATIC ${ARG_SOURCES})
  add_library(ppsim::${name} ALIAS ppsim_${name})
  set_target_properties(ppsim_${name} PROPERTIES EXPORT_NAME ${name} CXX_EXTENSIONS OFF)
  target_compile_features(ppsim_${name} PUBLIC cxx_std_20)
  target_include_directories(ppsim_${name} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
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
  install(DIRECTORY include/ TYPE INCLUDE)
  set_property(GLOBAL APPEND PROPERTY PPSIM_LIBRARIES ${name})
endfunction()

# ppsim_compile_together(ppsim_sim NAME [OPTIMISE g] FILES...): adds files that the compiler gets as one, since it reads the same headers
# for each of them. OPTIMISE: the -O level of release builds, where it is not 3: -Og is the quickest to compile (-O0 makes more code).
# Names in unnamed namespaces must differ within a group.
function(ppsim_compile_together target name)
  cmake_parse_arguments(ARG "" "OPTIMISE" "" ${ARGN})
  set(files ${ARG_UNPARSED_ARGUMENTS})
  if(PPSIM_UNITY)
    set(together ${CMAKE_CURRENT_BINARY_DIR}/${target}/${name}.cpp)
    set(text)
    foreach(file IN LISTS files)
      # Relative, so that a compiler cache knows the file again in another checkout.
      file(RELATIVE_PATH path ${CMAKE_CURRENT_BINARY_DIR}/${target} ${CMAKE_CURRENT_SOURCE_DIR}/${file})
      string(APPEND text "#include \"${path}\"\n")
    endforeach()
    file(CONFIGURE OUTPUT ${together} CONTENT "${text}" @ONLY)
    set(files ${together})
    # g++ takes what is included for a header, whose unnamed namespaces would be another one in each file.
    set(options $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
  if(ARG_OPTIMISE)
    list(APPEND options $<$<CONFIG:Release>:-O${ARG_OPTIMISE}>)
  endif()
  target_sources(${target} PRIVATE ${files})
  set_source_files_properties(${files} PROPERTIES COMPILE_OPTIONS "${options}")
  target_precompile_headers(${target} REUSE_FROM ppsim_std)
endfunction()
