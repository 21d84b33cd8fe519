import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Comparator;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.opensearch.common.logging.LogConfigurator;
import org.opensearch.common.settings.Settings;
import org.opensearch.core.common.transport.BoundTransportAddress;
import org.opensearch.env.Environment;
import org.opensearch.http.HttpServerTransport;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.transport.TransportService;

/**
 * What the mains for 2.x and 3.x share. The launcher writes HOME/config (opensearch.yml, log4j2.properties);
 * this side reads it, starts the node, and reports the ports that the kernel gave it in HOME/ports.
 */
final class NodeProcess {
    private NodeProcess() {}

    /** Settings come from HOME/config/opensearch.yml alone, so that a log shows all there is to know. */
    static Environment environment(Path home) throws Exception {
        Path config = home.resolve("config");
        Settings homeOnly = Settings.builder().put("path.home", home.toString()).build();
        Environment environment = InternalSettingsPreparer.prepareEnvironment(homeOnly, Map.of(), config, () -> "unnamed");
        LogConfigurator.registerErrorListener();
        LogConfigurator.configure(environment);
        return environment;
    }

    /** Starts the node and blocks until the process is told to end, or its owner is gone. */
    static void run(Node node, Path home, long owner) throws Exception {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> close(node), "close-node"));
        // A killed test run must not leave a node or its data behind: SIGKILL runs no clean-up on the owner's side.
        ProcessHandle process = ProcessHandle.of(owner).orElseThrow(() -> new IllegalStateException("no owner " + owner));
        process.onExit().thenRun(() -> {
            close(node);
            delete(home);
            System.exit(0);
        });
        node.start();
        report(node, home);
        new CountDownLatch(1).await();
    }

    private static void report(Node node, Path home) throws IOException {
        int http = port(node.injector().getInstance(HttpServerTransport.class).boundAddress());
        int transport = port(node.injector().getInstance(TransportService.class).boundAddress());
        Path partial = home.resolve("ports.partial");
        Files.writeString(partial, http + " " + transport);
        Files.move(partial, home.resolve("ports"), StandardCopyOption.ATOMIC_MOVE); // never read half-written
    }

    private static int port(BoundTransportAddress address) {
        return address.publishAddress().getPort();
    }

    private static void delete(Path folder) {
        try (Stream<Path> paths = Files.walk(folder)) {
            for (Path path : (Iterable<Path>) paths.sorted(Comparator.reverseOrder())::iterator) {
                Files.delete(path);
            }
        } catch (IOException e) {
            e.printStackTrace();
        }
    }

    private static void close(Node node) {
        try {
            node.close();
        } catch (IOException e) {
            e.printStackTrace();
        }
    }
}
