# cmake -D SOURCE=FOLDER -D WITH=TEXT -D OUTPUT=FILE -P: a header that says which commit the sources are of and what they are built
# with. It is written where that is another one than last time.
set(from "sources of no commit")
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit RESULT_VARIABLE failed
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT failed)
  set(from "commit ${commit}")
  execute_process(COMMAND git -C ${SOURCE} diff --quiet HEAD RESULT_VARIABLE changed ERROR_QUIET)
  if(changed)
    string(APPEND from " with changes")
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "constexpr std::string_view built_from = \"${from}\";\nconstexpr std::string_view built_with = \"${WITH}\";\n" @ONLY)
