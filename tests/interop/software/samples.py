"""The programs that the tests compile and run. Each does what sandboxes have broken elsewhere: threads, sockets, processes, shared memory."""

THREADS = r"""
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

int main() {
  std::mutex mutex;
  int sum = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 100; ++i) {
    threads.emplace_back([&, i] {
      std::lock_guard<std::mutex> lock(mutex);
      sum += i;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::printf("%d\n", sum);
}
"""

CMAKE = {
    "CMakeLists.txt": """
cmake_minimum_required(VERSION 3.13)
project(sample C CXX)
find_package(Threads REQUIRED)
add_library(half SHARED half.c)
add_executable(main main.cc)
target_link_libraries(main half Threads::Threads)
enable_testing()
add_test(NAME main COMMAND main)
""",
    "half.c": "int half(int number) { return number / 2; }\n",
    "main.cc": 'extern "C" int half(int number);\nint main() { return half(84) == 42 ? 0 : 1; }\n',
}

GO = r"""
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
)

func squares(n int) int {
	var wait sync.WaitGroup
	parts := make(chan int, n)
	for i := 0; i < n; i++ {
		wait.Add(1)
		go func(i int) {
			defer wait.Done()
			parts <- i * i
		}(i)
	}
	wait.Wait()
	close(parts)
	sum := 0
	for part := range parts {
		sum += part
	}
	return sum
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "served") }))
	answer, err := http.Get("http://" + listener.Addr().String())
	if err != nil {
		panic(err)
	}
	text, _ := io.ReadAll(answer.Body)
	fmt.Println(string(text), squares(10))
}
"""

GO_TEST = r"""
package main

import "testing"

func TestSquares(t *testing.T) {
	if squares(4) != 14 {
		t.Fatal(squares(4))
	}
}
"""

JAVA = r"""
import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.stream.IntStream;

public class Main {
  public static void main(String[] arguments) throws Exception {
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", exchange -> {
      exchange.sendResponseHeaders(200, 0);
      exchange.getResponseBody().write("served".getBytes());
      exchange.close();
    });
    server.start();
    URI place = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/");
    String text = HttpClient.newHttpClient().send(HttpRequest.newBuilder(place).build(), BodyHandlers.ofString()).body();
    System.out.println(text + " " + IntStream.range(0, 1000).parallel().sum());
    server.stop(0);
  }
}
"""

PYTHON = r"""
import asyncio
import http.server
import multiprocessing
import multiprocessing.shared_memory
import sqlite3
import ssl
import threading
import urllib.request


def square(number):
    return number * number


async def count():
    child = await asyncio.create_subprocess_exec("sh", "-c", "seq 0 9", stdout=asyncio.subprocess.PIPE)
    return sum(int(line) for line in (await child.communicate())[0].split())


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"served")

    def log_message(self, *_):
        pass


def main():
    with multiprocessing.Pool(4) as pool:
        squares = sum(pool.map(square, range(10)))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    served = urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/").read().decode()
    database = sqlite3.connect("database")
    database.executescript("create table words (word text); insert into words values ('rows')")
    word = database.execute("select word from words").fetchone()[0]
    ssl.create_default_context()
    memory = multiprocessing.shared_memory.SharedMemory(create=True, size=4096)
    memory.buf[:6] = b"shared"
    print(squares, served, word, asyncio.run(count()), bytes(memory.buf[:6]).decode())
    memory.close()
    memory.unlink()


if __name__ == "__main__":
    main()
"""

NODE = r"""
import http from 'node:http';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

const server = http.createServer((request, response) => response.end('served'));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const answer = await fetch(`http://127.0.0.1:${server.address().port}/`);
const worker = new Worker("require('node:worker_threads').parentPort.postMessage(6 * 7)", { eval: true });
const [product] = await once(worker, 'message');
console.log(await answer.text(), product);
server.close();
"""

GDB = r"""
#include <stdio.h>

static int square(int x) { return x * x; }

int main(void) {
  int sum = 0;
  for (int i = 1; i <= 3; ++i) {
    sum += square(i);
  }
  printf("%d\n", sum);
  return 0;
}
"""

# Ends when a debugger changes `answer`.
WAITS = r"""
#include <stdio.h>
#include <unistd.h>

volatile int answer = 42;

int main(void) {
  puts("ready");
  fflush(stdout);
  while (answer != 0) {
    usleep(10000);
  }
  return 0;
}
"""

ASAN_USE = r"""
#include <stdlib.h>

int main(void) {
  volatile char *bytes = malloc(16);
  free((void *)bytes);
  return bytes[3];
}
"""

ASAN_LEAK = r"""
#include <stdlib.h>

static void *kept;

int main(void) {
  kept = malloc(16);
  kept = NULL;
  return 0;
}
"""

TSAN = r"""
#include <pthread.h>

static int shared;

static void *add(void *unused) {
  for (int i = 0; i < 1000; ++i) {
    ++shared;
  }
  return unused;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) {
    pthread_create(&threads[i], NULL, add, NULL);
  }
  for (int i = 0; i < 2; ++i) {
    pthread_join(threads[i], NULL);
  }
  return 0;
}
"""
