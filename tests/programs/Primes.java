/* SPDX-License-Identifier: MIT */
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

/** Counts primes in a pool of threads and by a parallel stream, and writes a file: what a JVM does all day. */
public class Primes {
	static long count(int from, int to) {
		return IntStream.range(from, to).parallel()
			.filter(n -> n > 1 && IntStream.rangeClosed(2, (int) Math.sqrt(n)).allMatch(d -> n % d != 0)).count();
	}

	public static void main(String[] args) throws Exception {
		var pool = Executors.newFixedThreadPool(4);
		var parts = new ArrayList<Future<Long>>();
		for (int k = 0; k < 10; k++) {
			int from = k * 1000;
			parts.add(pool.submit(() -> count(from, from + 1000)));
		}
		long sum = 0;
		for (var part : parts)
			sum += part.get();
		pool.shutdown();
		Path file = Files.createTempFile(Path.of("."), "primes", ".txt");
		Files.writeString(file, "primes " + sum);
		System.out.println(Files.readString(file));
		Files.delete(file);
	}
}
