# protozero, which is headers: target protozero::protozero. Neither it nor its packages bring a file for CMake.
find_path(protozero_INCLUDE_DIR protozero/version.hpp)
mark_as_advanced(protozero_INCLUDE_DIR)

if(protozero_INCLUDE_DIR)
  file(STRINGS ${protozero_INCLUDE_DIR}/protozero/version.hpp line REGEX "define PROTOZERO_VERSION_STRING")
  string(REGEX MATCH "[0-9.]+" protozero_VERSION "${line}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(protozero REQUIRED_VARS protozero_INCLUDE_DIR VERSION_VAR protozero_VERSION)
if(protozero_FOUND AND NOT TARGET protozero::protozero)
  add_library(protozero::protozero INTERFACE IMPORTED)
  set_target_properties(protozero::protozero PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${protozero_INCLUDE_DIR})
endif()
