/* A child that no preload reaches. Exits with 5. */
#include <stdio.h>

int main(int argc, char** argv) {
  printf("static, with %d arguments, the last %s\n", argc, argv[argc - 1]);
  return 5;
}
