# One place for compiler flags and for how a ppsim library is declared.
add_library(ppsim_warnings INTERFACE)
target_compile_options(ppsim_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast
  $<$<BOOL:${PPSIM_WERROR}>:-Werror>)

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
